# The image of every role and verb. docs/image.md says how it is built, run and shown to work.
#
#   docker build -t rcpt:0.1.0 --build-arg VERSION=0.1.0 .
#   docker build --target test .          the suite, on the image's own Node.js
#
# Pin the base by its digest where builds must be the same for ever: --build-arg NODE_IMAGE=node:24-trixie-slim@sha256:...
ARG NODE_IMAGE=node:24-trixie-slim

# All packages of the lockfile, for building and testing.
FROM ${NODE_IMAGE} AS packages
# Given by --build-arg, npm reads it from the environment.
ARG NPM_CONFIG_REGISTRY
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY portal/package.json portal/
COPY packages/client/package.json packages/client/
RUN --mount=type=cache,target=/root/.npm npm ci --include=dev --include=optional --no-audit --no-fund

# npm test on the image's own Node.js and C library. TESTS: paths, none are all.
FROM packages AS test
ARG TESTS=""
ENV CI=true
COPY . .
RUN npm test --silent -- ${TESTS}

# The code, and of the packages what it reads: /app/image is what the image adds to its base.
FROM packages AS build
COPY . .
RUN npm run --silent build
RUN node --import tsx scripts/image/assemble.ts image

FROM ${NODE_IMAGE} AS production
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="rcpt" \
      org.opencontainers.image.description="Self-hostable email verification" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
WORKDIR /
# For lists that are worked on, on a disk: mount a volume. Like /tmp, whoever the process runs as.
RUN mkdir -m 1777 scratch
WORKDIR /app
COPY --from=build /app/image/ ./
# The user is in no list of users: HOME is what finds a home for it. Metrics are scraped from outside of the container.
ENV NODE_ENV=production \
    HOME=/app \
    METRICS_HOST=0.0.0.0 \
    SCRATCH_DIR=/scratch
USER 10001:10001
# The API, and metrics, which every role has.
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "health.mjs"]
# Node.js is process 1: the entry answers signals itself. Arguments are verbs: migrate, bootstrap, doctor, ...
ENTRYPOINT ["node", "dist/src/main.js"]
