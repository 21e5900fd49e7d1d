package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"mcprelay/shared/secret"
)

// current is the stage of the version in force. It is always named: moto gives
// the version before a rotation where it is not.
const current = "AWSCURRENT"

// Secret reads the current version of a tenant's secret from Secrets Manager,
// by name or ARN. One that is not there, holds nothing, or is being deleted, is
// [secret.ErrNotFound]; one whose name does not begin as the tenant's do is
// [secret.ErrForeign], and is not asked for: the function itself may read the
// secrets of every tenant.
func (s *Store) Secret(ctx context.Context, tenant string, source secret.Source) (secret.Value, error) {
	if source.Secret == "" {
		return secret.Value{}, secret.ErrNotFound
	}
	if tenant == "" || !strings.HasPrefix(source.Name(), s.c.SecretPrefix+tenant+"/") {
		return secret.Value{}, secret.ErrForeign
	}
	out, err := s.c.Secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{
		SecretId: &source.Secret, VersionStage: aws.String(current),
	})
	var missing *types.ResourceNotFoundException
	var deleted *types.InvalidRequestException
	switch {
	case errors.As(err, &missing), errors.As(err, &deleted):
		return secret.Value{}, secret.ErrNotFound
	case err != nil:
		return secret.Value{}, fmt.Errorf("reading a secret: %w", err)
	}
	value := out.SecretBinary
	if out.SecretString != nil {
		value = []byte(*out.SecretString)
	}
	if len(value) == 0 {
		return secret.Value{}, secret.ErrNotFound
	}
	return secret.NewValue(value, aws.ToString(out.VersionId)), nil
}
