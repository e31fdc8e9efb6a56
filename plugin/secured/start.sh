#!/usr/bin/env bash
# Starts OpenSearch with users and TLS: puts the secrets that scripts/secrets made where OpenSearch reads them, then goes on
# as the image does. Runs inside the container; what it writes lies in the container alone.
set -euo pipefail
home=${OPENSEARCH_HOME:-/usr/share/opensearch}
config=$home/config
secrets=${KITPICK_SECRETS:-/run/kitpick}
roles=${KITPICK_ROLES:-/opt/kitpick}

mkdir -p "$config/certificates"
cp "$secrets"/ca.pem "$secrets"/opensearch.pem "$secrets"/opensearch.key "$config/certificates"

# The rescorer's key, and its certificate's authority, which the plugin trusts in place of the JDK's.
rm -f "$config/trusted.p12"
"$home/jdk/bin/keytool" -importcert -noprompt -alias ca -file "$secrets/ca.pem" \
  -keystore "$config/trusted.p12" -storetype PKCS12 -storepass trusted
[ -f "$config/opensearch.keystore" ] || "$home/bin/opensearch-keystore" create
"$home/bin/opensearch-keystore" add --stdin --force kitpick.key < "$secrets/kitpick.key"
printf trusted | "$home/bin/opensearch-keystore" add --stdin --force kitpick.tls.truststore_password

# No user but these, and none with a password that is not a secret.
{
  echo "_meta: {type: internalusers, config_version: 2}"
  for user in writer reader operator; do
    PASSWORD=$(cat "$secrets/$user.password")
    export PASSWORD
    hash=$(bash "$home/plugins/opensearch-security/tools/hash.sh" -env PASSWORD | grep '^\$2')
    echo "kitpick_$user: {hash: '$hash'}"
  done
  unset PASSWORD
} > "$config/opensearch-security/internal_users.yml"
cp "$roles"/*.yml "$config/opensearch-security"

exec "$home/opensearch-docker-entrypoint.sh" opensearch
