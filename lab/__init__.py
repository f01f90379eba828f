"""The lab: Snoozer's own processes on a page, on which anybody can break them and watch what happens."""
