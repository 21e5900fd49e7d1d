//go:build integration

package call
