#!/bin/sh
# Patroni's callback on_role_change: accepts the new primary (`snoozer restored --accept`, which the audit log records), so
# that mail goes on by itself after a failover that forgot nothing. After anything else workers wait for a person.
#
#   accept.sh URL FILE     URL: Patroni's REST API on this host; FILE has a line DATABASE_URL=postgresql://…, which names
#                          this host alone. Patroni adds: ACTION ROLE CLUSTER
#
# With synchronous_mode Patroni promotes by itself only a standby that has every commit that was waited for.
set -eu

url=$1 file=$2 action=$3 role=$4
SNOOZER=${SNOOZER:-/opt/snoozer/bin/snoozer}
# Longer than ttl and loop_wait together, and shorter than a restore takes.
most=60

[ "$action" = on_role_change ] || exit 0
case $role in primary | master | promoted) ;; *) exit 0 ;; esac

DATABASE_URL=$(sed -n 's/^DATABASE_URL=//p' "$file")
export DATABASE_URL

refuse() {
    echo "snoozer: $1; workers wait until a person has run \`snoozer restored\`" >&2
    exit 1
}

ask() {
    psql --no-psqlrc --quiet --tuples-only --no-align --dbname="$DATABASE_URL" --command="$1" 2>/dev/null
}

curl --fail --silent --show-error --max-time 5 "$url/config" | grep -Eq '"synchronous_mode": *(true|"quorum")' ||
    refuse "the cluster is not synchronous, so the last commits may be lost"

tries=0
until [ "$(ask 'SELECT pg_is_in_recovery()')" = f ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || refuse "the database takes no writes"
    sleep 0.1
done

# The last commit that came from the primary before. A standby has it to the second; a backup that was restored has not.
[ "$(ask "SELECT clock_timestamp() - pg_last_xact_replay_timestamp() < interval '$most seconds'")" = t ] ||
    refuse "its last commit is not of the last $most seconds, as after a restore"

exec "$SNOOZER" restored --accept
