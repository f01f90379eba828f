#!/bin/sh
# Installs Snoozer under systemd, or upgrades it to this checkout. For root, on a host with Python's venv and, unless
# DATABASE_URL is given, PostgreSQL. Arguments are settings, NAME=value; a setting that is in /etc/snoozer/env stays.
set -eu
cd "$(dirname "$0")/../.."
settings=/etc/snoozer/env
programs=/opt/snoozer/bin

has() { grep -q "^$1=" "$settings"; }
set_once() { has "$1" || printf '%s=%s\n' "$1" "$2" >>"$settings"; }

[ "$(id -u)" = 0 ] || { echo "install.sh: Only root can install units." >&2; exit 2; }
install -d -m 755 /etc/snoozer
[ -e "$settings" ] || install -m 600 /dev/null "$settings"
for setting; do
    case $setting in
    [A-Z]*=*) set_once "${setting%%=*}" "${setting#*=}" ;;
    *) echo "install.sh: $setting is not NAME=value." >&2; exit 2 ;;
    esac
done
for name in BASE_URL SMTP_URL MAIL_FROM; do
    has "$name" || { echo "install.sh: $name is not set; give it as $name=… or in $settings." >&2; exit 2; }
done

id snoozer >/dev/null 2>&1 || useradd --system --home-dir /var/lib/snoozer snoozer
if ! has DATABASE_URL; then
    su postgres -c "cd / && psql -Atc \"SELECT rolname FROM pg_roles WHERE rolname = 'snoozer'\" | grep -q . || createuser snoozer
        createdb --owner snoozer --encoding UTF8 --template template0 snoozer"
    set_once DATABASE_URL 'postgresql:///snoozer?host=/var/run/postgresql'
fi
[ -x "$programs/pip" ] || python3 -m venv /opt/snoozer
"$programs/pip" install --quiet --require-hashes -r requirements.txt
"$programs/pip" install --quiet --no-deps --force-reinstall .
set_once SECRET_KEY "$("$programs/python" -c 'import secrets; print(secrets.token_urlsafe(48))')"

install -m 644 deploy/systemd/snoozer* /etc/systemd/system/
systemctl daemon-reload
systemctl start snoozer-migrate
systemctl enable --quiet snoozer.target
started=$(date '+%F %T')
systemctl restart snoozer.target
# The link is printed before the web answers.
until "$programs/python" -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:8000/readyz", timeout=5)' 2>/dev/null; do
    systemctl is-active --quiet snoozer-web || { journalctl -u snoozer-web -n 20 --no-pager >&2; exit 1; }
    sleep 1
done
echo "Snoozer runs. Its log: journalctl -u 'snoozer*'"
journalctl -u snoozer-web --since "$started" -o cat --no-pager | grep '/setup/' || true
