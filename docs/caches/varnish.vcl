vcl 4.1;

# Varnish 6 or newer before the release folder of a game: collet-server, a web server or a bucket. It keeps what never changes for as long as
# the origin says, and what changes for half a minute. While it asks again it answers with what it has, for a minute at most; while the origin
# does not answer, for a day. build/lab/cdn runs this file as it is, with another origin.
#
# An answer that is none (5xx, or no connection) is never kept, not even for a moment: Varnish would drop what it had for it, and give the
# failure to all who ask meanwhile. So the two ways to fail below say abandon. The request comes back as a 503 of Varnish's own, and is looked
# up once more among what is old. When the probe finds the origin away, old answers are given at once, without a wait.

import std;

backend origin {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 2s;
    .first_byte_timeout = 10s;
    .probe = {
        .url = "/metadata/timestamp.json"; # with the path of the folder: what answers 200 while the origin is well
        .interval = 5s;
        .timeout = 5s;
        .window = 3; # away after three failures in a row, back after one success
        .threshold = 1;
        .initial = 3;
    }
}

sub vcl_recv {
    if (req.method != "GET" && req.method != "HEAD") {
        return (synth(405));
    }
    if (req.restarts == 0 && std.healthy(req.backend_hint)) {
        set req.grace = 60s; # stale-while-revalidate
    } else {
        set req.grace = 1d; # stale-if-error
    }
    unset req.http.Cookie;
    return (hash);
}

sub vcl_miss {
    if (req.restarts > 0) {
        return (synth(503)); # the origin was just asked
    }
}

sub vcl_backend_error {
    return (abandon);
}

sub vcl_backend_response {
    unset beresp.http.Set-Cookie;
    if (beresp.status >= 500) {
        return (abandon);
    }
    if (beresp.http.CDN-Cache-Control ~ "max-age=[0-9]+") { # RFC 9213; collet-server and nginx send it
        set beresp.ttl = std.duration(regsub(beresp.http.CDN-Cache-Control, "^.*max-age=([0-9]+).*$", "\1") + "s", 0s);
    } elsif (beresp.status == 404 || beresp.status == 403) { # a bucket says nothing about what is missing
        set beresp.ttl = 30s;
    } elsif (beresp.http.Cache-Control ~ "(no-store|no-cache|private)") {
        set beresp.ttl = 0s;
        set beresp.grace = 0s;
        set beresp.uncacheable = true;
        return (deliver);
    } # else Varnish has read s-maxage and max-age
    set beresp.grace = 1d; # stale-if-error
    return (deliver);
}

sub vcl_synth {
    # The origin did not answer: once more, and this time anything counts that is not older than a day.
    if (resp.status == 503 && req.restarts == 0) {
        return (restart);
    }
}
