# syntax=docker/dockerfile:1
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked -p forebay && cp target/release/forebay /usr/local/bin/

FROM debian:bookworm-slim
# Certificates for calls to providers; curl for the health check.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /data forebay
COPY --from=build /usr/local/bin/forebay /usr/local/bin/
USER forebay
# What a process writes beside its store: the admin key of the first start, texts that are too large for a row, and
# the store itself where it is a file.
WORKDIR /data
VOLUME /data
ENV FOREBAY_LISTEN=0.0.0.0:7120
EXPOSE 7120
HEALTHCHECK --interval=5s --start-period=60s CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:7120/readyz"]
ENTRYPOINT ["forebay"]
CMD ["serve"]
