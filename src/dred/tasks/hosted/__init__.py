"""Any Gymnasium environment as a task, if it can be reset to a level."""
