set -eu
data=/var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
    initdb -D "$data" -U "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" -A scram-sha-256 $POSTGRES_INITDB_ARGS
    echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
    echo "local all all trust" | cat - "$data/pg_hba.conf" >"$data/pg_hba.new" && mv "$data/pg_hba.new" "$data/pg_hba.conf"
    pg_ctl -D "$data" -w start -o "-c listen_addresses= -k /tmp"
    createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -D "$data" -w stop
fi
exec postgres -D "$data" -c "listen_addresses=*"
