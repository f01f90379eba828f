"""`python -m lab`, in a checkout: the lab's page with processes of its own."""

from lab.main import command

command(prog_name="lab")
