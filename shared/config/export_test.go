package config

// ReadFile reads a config file as the user uid would.
func ReadFile(path string, uid int) ([]byte, error) { return readFile(path, uid) }
