"""Commands for people: nothing on a host's path imports this folder."""
