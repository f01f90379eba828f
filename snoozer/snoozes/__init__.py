"""Use cases of snoozes: every act on them, its result and its undo."""
