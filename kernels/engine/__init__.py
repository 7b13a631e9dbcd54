"""The ground of every product: number types, backends, the search for the fastest launch, errors."""
