module mcprelay

// The endpoint rule relies on fixes of net/url up to 1.26.1; 1.26.8 is what was tested.
go 1.26.8

require (
	code.dny.dev/ssrf v0.3.0 // classifies addresses (egress)
	github.com/aws/aws-lambda-go v1.55.1 // Lambda runtime and event types (functions, event)
	github.com/aws/aws-sdk-go-v2 v1.48.0 // DynamoDB and Secrets Manager, with the four below (store/dynamo)
	github.com/aws/aws-sdk-go-v2/config v1.33.18
	github.com/aws/aws-sdk-go-v2/credentials v1.21.0 // tests: fixed credentials for the emulators
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0
	github.com/aws/aws-sdk-go-v2/service/dynamodbstreams v1.47.0 // tests: moto's stream
	github.com/aws/aws-sdk-go-v2/service/secretsmanager v1.50.12
	github.com/aws/smithy-go v1.28.9 // typed API errors of the SDK (store/dynamo)
	github.com/go-jose/go-jose/v4 v4.1.9 // JWS and JWK of trusted issuers (auth)
	github.com/go-json-experiment/json v1.27.2 // strict one-pass JSON tokens (wire)
	github.com/google/go-cmp v0.7.0 // tests: differences
	github.com/google/jsonschema-go v0.4.3 // tests: component schemas of the OpenAPI document
	github.com/modelcontextprotocol/go-sdk v1.8.0 // the demo server, and an independent peer in tests
	github.com/oklog/ulid/v2 v2.1.2 // call ids
	github.com/open-policy-agent/opa v1.22.4 // Rego, the policy language that users already write (policy)
	github.com/spf13/cobra v1.10.2 // the command (cmd/relay)
	github.com/yosida95/uritemplate/v3 v3.0.2 // tests: RFC 6570 expansions
	golang.org/x/net v0.62.0 // IDNA labels (endpoint); DNS messages in tests
	golang.org/x/sync v0.25.0 // one read in flight a tenant (app)
	golang.org/x/sys v0.50.0 // MSG_PEEK, file locks, namespaces in tests
	modernc.org/sqlite v1.62.0 // the local store, pure Go (store/local)
)

require (
	github.com/agnivade/levenshtein v1.2.2 // indirect
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.25 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.14.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/signin v1.13.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.39.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.44.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.52.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.4.1 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/gobwas/glob v1.1.0 // indirect
	github.com/goccy/go-json v0.11.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/lestrrat-go/blackmagic v1.0.4 // indirect
	github.com/lestrrat-go/dsig v1.4.0 // indirect
	github.com/lestrrat-go/dsig-secp256k1 v1.0.0 // indirect
	github.com/lestrrat-go/httpcc v1.0.1 // indirect
	github.com/lestrrat-go/httprc/v3 v3.0.6 // indirect
	github.com/lestrrat-go/jwx/v3 v3.4.0 // indirect
	github.com/lestrrat-go/option/v2 v2.0.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/segmentio/asm v1.2.1 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sirupsen/logrus v1.10.2 // indirect
	github.com/spf13/pflag v1.1.0 // indirect
	github.com/valyala/fastjson v1.6.10 // indirect
	github.com/vektah/gqlparser/v2 v2.5.64 // indirect
	github.com/xeipuuv/gojsonpointer v0.0.0-20190905194746-02993c407bfb // indirect
	github.com/xeipuuv/gojsonreference v0.0.0-20180127040603-bd5ef7bd5415 // indirect
	github.com/yashtewari/glob-intersection v0.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	modernc.org/libc v1.80.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
