# brightnet for the CPU: `docker build -t brightnet .`, then (docs/install.md, "Containers")
#   docker run --rm -v /data/mine:/data:ro -v $PWD:/work brightnet train --model yolov4-tiny --data /data
FROM debian:12 AS build
WORKDIR /src
COPY scripts/setup scripts/setup
RUN scripts/setup
COPY . .
RUN scripts/package deb --out /packages

FROM debian:12-slim
COPY --from=build /packages/ /packages/
RUN apt-get update && apt-get install -y /packages/brightnet_*.deb && rm -rf /packages /var/lib/apt/lists/*
# /data: data sets. /work: where runs/ is written. /weights: published weights that were downloaded. Whoever `--user` says may
# write to the last two.
RUN useradd --create-home brightnet && mkdir /data /work /weights && chmod 1777 /work /weights
ENV XDG_CACHE_HOME=/weights
VOLUME ["/data", "/work", "/weights"]
WORKDIR /work
USER brightnet
HEALTHCHECK --interval=5m --timeout=2m CMD ["brightnet", "doctor"]
ENTRYPOINT ["brightnet"]
CMD ["--help"]
