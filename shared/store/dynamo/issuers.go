package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"mcprelay/shared/registry"
)

// issuerKey is the partition of the tenants that registered an issuer.
func issuerKey(issuer string) string { return partition("I", name(issuer)) }

// indexIssuer remembers that a tenant registers an issuer, before it does: an
// item too many leads to a registration that lacks the issuer, one too few
// would hide it.
func (s *Store) indexIssuer(ctx context.Context, tenant, issuer string) error {
	i := item{}
	i.text(attrPK, issuerKey(issuer))
	i.text(attrSK, tenant)
	_, err := s.c.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.c.Registry, Item: i})
	return err
}

// IssuerTenants lists the tenants that registered an issuer, by name. One that
// tried to, and was refused, may be among them.
func (s *Store) IssuerTenants(ctx context.Context, issuer string) ([]string, error) {
	values := item{}
	values.text(":pk", issuerKey(issuer))
	items, err := s.query(ctx, &dynamodb.QueryInput{
		TableName:                 &s.c.Registry,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: values,
	})
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	var tenants []string
	for _, i := range items {
		tenants = append(tenants, i.getText(attrSK))
	}
	return tenants, nil
}

// sortClaim is the sort key of a claim, and attrTenant who has it.
const (
	sortClaim  = "CLAIM"
	attrTenant = "tenant"
)

// claim takes an issuer's audience for a tenant, or says that another one has
// it. It is kept when the registration that follows fails, or is changed to
// another audience: what was a tenant's goes to no other by itself.
func (s *Store) claim(ctx context.Context, tenant, issuer, audience string) error {
	i, own := item{}, item{}
	i.text(attrPK, partition("A", name(issuer), name(audience)))
	i.text(attrSK, sortClaim)
	i.text(attrTenant, tenant)
	own.text(":tenant", tenant)
	err := s.put(ctx, s.c.Registry, i, condition{
		expression: "attribute_not_exists(#pk) OR #tenant = :tenant",
		names:      map[string]string{"#pk": attrPK, "#tenant": attrTenant},
		values:     own,
	})
	if errors.Is(err, errCondition) {
		return registry.ErrClaimed
	}
	return err
}
