package dynamo

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

// previous is the stage of the version that a rotation replaced.
const previous = "AWSPREVIOUS"

// leastSeal is what a secret of sealing keys must have, in bytes: 32 characters
// of letters and digits are 190 bits.
const leastSeal = 32

var errSealSecret = errors.New("the secret of sealed states has fewer than 32 characters")

// SealKeys reads the keys that states are sealed with from a secret of the
// relay's own, by name or ARN: that of the current version, which seals, then,
// after a rotation, that of the version before, which opens what is under way.
// A key is the SHA-256 of a version's value, which must be random and have 32
// characters at least. An empty name gives no keys.
func (s *Store) SealKeys(ctx context.Context, name string) ([][]byte, error) {
	if name == "" {
		return nil, nil
	}
	// Both at once: a process that starts waits for them before its first event.
	var before []byte
	var failed error
	var second sync.WaitGroup
	second.Go(func() { before, failed = s.sealKey(ctx, name, previous) })
	newest, err := s.sealKey(ctx, name, current)
	second.Wait()
	var missing *types.ResourceNotFoundException
	switch {
	case err != nil:
		return nil, err
	case errors.As(failed, &missing): // it was never rotated
		return [][]byte{newest}, nil
	case failed != nil:
		return nil, failed
	}
	return [][]byte{newest, before}, nil
}

func (s *Store) sealKey(ctx context.Context, name, stage string) ([]byte, error) {
	out, err := s.c.Secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name, VersionStage: &stage})
	if err != nil {
		return nil, fmt.Errorf("reading the secret of sealed states: %w", err)
	}
	value := out.SecretBinary
	if out.SecretString != nil {
		value = []byte(aws.ToString(out.SecretString))
	}
	if len(value) < leastSeal {
		return nil, errSealSecret
	}
	key := sha256.Sum256(value)
	return key[:], nil
}
