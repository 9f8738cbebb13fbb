# docker build --platform linux/amd64,linux/arm64 -t warp-signature-aggregator .
# test/network/image.test.ts runs these steps without an engine, in an empty folder.

# Runs on the machine that builds, whatever the image is for: no package is compiled, and none has an install script to run.
FROM --platform=$BUILDPLATFORM node:24.21.0-slim AS dependencies
ARG TARGETARCH
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The native BLS library is an optional package, whose binary comes as a package of its own for each kind of CPU and C library.
# The Nodes for hosts whose own is older are optional packages too, and nothing in here: the image has a Node.
# The list of what is in the image is of what is left then. npm's own way to leave packages of development out of it leaves out what they
# share with the service too, so package.json names none any more.
RUN npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$(echo "$TARGETARCH" | sed s/amd64/x64/)" \
 && rm -rf node_modules/node-linux-* node_modules/node-darwin-* node_modules/node-bin-* node_modules/.bin \
 && npm pkg delete devDependencies \
 && npm sbom --sbom-format=cyclonedx > sbom.cdx.json \
 && mkdir data

# The console's page, bundled.
FROM --platform=$BUILDPLATFORM node:24.21.0-slim AS page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY src ./src
COPY scripts ./scripts
RUN node scripts/bundle-page.ts page

FROM node:24.21.0-slim
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="warp-signature-aggregator" \
      org.opencontainers.image.description="Collects, aggregates and verifies the BLS signatures of Avalanche validators over Warp messages" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# Within a container the loopback address reaches nobody.
ENV NODE_ENV=production \
    SIGNATURE_AGGREGATOR_SERVER__HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY package.json LICENSE README.md ./
COPY config ./config
COPY docs ./docs
COPY src ./src
COPY --from=page /app/page ./src/console/bundle
# A new volume that is mounted here belongs to the user, as the folder does.
COPY --from=dependencies --chown=1000:1000 /app/data /data
# By number, so that an orchestrator can see that it is not root. Nothing else is written: the root file system may be read-only.
USER 1000:1000
EXPOSE 8080
# Takes the options of the first process, and so asks the port that the service listens on.
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "--disable-warning=ExperimentalWarning", "src/start.js", "health", "--of-process", "1"]
# Node is the first process and has the signals delivered to it; src/cli/commands/serve.ts handles them.
# Certificates of the system count too. The second flag caps the young generation: V8 would let it grow to 128 MB. undici marks the decoding
# of compressed bodies as experimental, which is no news for an operator.
ENTRYPOINT ["node", "--use-system-ca", "--max-semi-space-size=4", "--disable-warning=ExperimentalWarning", "src/start.js"]
