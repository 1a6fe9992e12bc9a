"""How sure a number is: bootstrap draws, intervals of one run and over seeds, planning."""
