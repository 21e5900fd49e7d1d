package call
