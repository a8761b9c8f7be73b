"""What is missing or wrong in a task: `dred check-task`."""

from dred.task_checks.checklist import Checked as Checked
from dred.task_checks.checklist import Checklist as Checklist
from dred.task_checks.checklist import check_task as check_task
