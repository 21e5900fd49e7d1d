package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
