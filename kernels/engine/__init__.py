"""What every product stands on: number types, backends, the search for the fastest launch, errors."""
