from snoozer.cli import main

main()
