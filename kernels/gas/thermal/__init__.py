"""Below the equations of state: the ideal gas, sums over species, conserved variables, a flow solver's Jacobian."""
