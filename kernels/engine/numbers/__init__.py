"""Number types of the point bodies, in C++ headers. What Python there is makes their coefficients: fits/."""
