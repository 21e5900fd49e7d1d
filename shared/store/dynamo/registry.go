package dynamo

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"mcprelay/shared/registry"
	"mcprelay/shared/token"
)

// sortToken is the sort key of a token. That of a document is its kind in
// capitals and, where it has one, its name.
const sortToken = "TOKEN"

// Documents gives a tenant's registration, by kind and name; nothing for a
// tenant that registered nothing.
func (s *Store) Documents(ctx context.Context, tenant string) ([]registry.Document, error) {
	values := item{}
	values.text(":pk", partition("T", name(tenant)))
	in := &dynamodb.QueryInput{
		TableName:                 &s.c.Registry,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: values,
	}
	items, err := s.query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	var documents []registry.Document
	for _, stored := range items {
		documents = append(documents, documentOf(stored))
	}
	return documents, nil
}

// documentOf reads an item, of kinds that this version does not know too: what
// a newer relay wrote may restrict the rest, so it is for the reader to refuse.
func documentOf(i item) registry.Document {
	kind, of, _ := strings.Cut(i.getText(attrSK), "#")
	return registry.Document{
		Kind: strings.ToLower(kind), Name: of,
		Body: json.RawMessage(i.getText(attrBody)), Rev: i.getNumber(attrRev),
	}
}

// PutDocument stores a document over its revision, 0 for a new one, and gives
// the new revision, or [registry.ErrConflict]. An issuer for an audience of
// another tenant is [registry.ErrClaimed].
func (s *Store) PutDocument(ctx context.Context, tenant string, d registry.Document) (int64, error) {
	sort, err := sortOf(tenant, d)
	if err != nil {
		return 0, fmt.Errorf("document %s: %w", d.Kind, err)
	}
	if d.Kind == registry.KindIssuer {
		err := s.indexIssuer(ctx, tenant, d.Name)
		if audience := d.Claim(); err == nil && audience != "" {
			err = s.claim(ctx, tenant, d.Name, audience)
		}
		if err != nil {
			return 0, fmt.Errorf("document %s: %w", d.Kind, err)
		}
	}
	next := d.Rev + 1
	i := item{}
	i.text(attrPK, partition("T", name(tenant)))
	i.text(attrSK, sort)
	i.text(attrBody, string(d.Body))
	i.number(attrRev, next)
	c := absent()
	if d.Rev != 0 {
		c = still(attrRev, d.Rev)
	}
	err = s.put(ctx, s.c.Registry, i, c)
	if errors.Is(err, errCondition) {
		err = registry.ErrConflict
	}
	if err != nil {
		return 0, fmt.Errorf("document %s: %w", d.Kind, err)
	}
	return next, nil
}

// sortOf is the sort key of a document, or why it cannot be kept as it is.
func sortOf(tenant string, d registry.Document) (string, error) {
	if tenant == "" {
		return "", errors.New("it has no tenant")
	}
	if err := d.Check(); err != nil {
		return "", err
	}
	sort := strings.ToUpper(d.Kind)
	if d.Name != "" {
		sort = partition(sort, d.Name)
	}
	return sort, within(d.Body)
}

// Token gives what is kept of a token, expired and revoked ones as well, or
// [token.ErrUnknown].
func (s *Store) Token(ctx context.Context, keyID string) (token.Record, error) {
	var record token.Record
	stored, err := s.get(ctx, s.c.Registry, tokenKey(keyID))
	if err == nil && stored == nil {
		return record, token.ErrUnknown
	}
	if err == nil {
		err = json.Unmarshal([]byte(stored.getText(attrRecord)), &record)
	}
	if err != nil {
		return token.Record{}, fmt.Errorf("token: %w", err)
	}
	return record, nil
}

func tokenKey(keyID string) item {
	key := item{}
	key.text(attrPK, partition("K", name(keyID)))
	key.text(attrSK, sortToken)
	return key
}

// PutToken keeps a token, or changes what is kept of it. Another token's key id
// is [ErrExists].
func (s *Store) PutToken(ctx context.Context, r token.Record) error {
	if r.KeyID == "" || r.Tenant == "" {
		return errors.New("token: it has no key id or no tenant")
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = within(text)
	}
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	hash := hex.EncodeToString(r.Hash[:])
	i, own := tokenKey(r.KeyID), item{}
	i.text(attrRecord, string(text))
	i.text(attrHash, hash)
	i.number(attrRev, s.c.Now().UnixMicro())
	own.text(":hash", hash)
	err = s.put(ctx, s.c.Registry, i, condition{
		expression: "attribute_not_exists(#pk) OR #hash = :hash",
		names:      map[string]string{"#pk": attrPK, "#hash": attrHash},
		values:     own,
	})
	if errors.Is(err, errCondition) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return nil
}
