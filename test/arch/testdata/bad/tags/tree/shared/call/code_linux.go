//go:build linux

// Package call is for one system.
package call
