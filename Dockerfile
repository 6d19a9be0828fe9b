# scripts/pin-images.ts updates the digest. To use another image: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim .
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY console/package.json console/
# The build needs no install scripts of packages.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build service console
# A checkout made under a strict umask must stay readable for the service's user.
RUN chmod -R a+rX bin console/dist dist migrations package.json

FROM ${NODE_IMAGE} AS dependencies
# npm names the SBOM after the directory.
WORKDIR /memory-service
COPY package.json package-lock.json ./
# The image needs a DATABASE_URL, so it omits the embedded database, an optional dependency. `npm sbom` fails if a
# package that package.json names is not installed, so the development dependencies are deleted from it.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --workspaces=false \
 && npm pkg delete devDependencies \
 && npm sbom --omit=dev --omit=optional --sbom-format=cyclonedx >sbom.cdx.json
# Types, source maps and manuals of the packages, which Node never loads.
RUN find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' \
    -o -name '*.md' ! -iname 'licen[cs]e*' \) -delete

FROM ${NODE_IMAGE} AS init
RUN apt-get update && apt-get install -y --no-install-recommends tini

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0
# Puts the code of Node on large pages if the kernel allows them. The flag is set only here, because the image fixes the
# version of Node: a later version may not start with it (nodejs/node#64408). bin/memory-service has the flags of V8.
ENV NODE_OPTIONS="--use-largepages=silent"
# glibc would keep several memory pools per core.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=init /usr/bin/tini /usr/bin/tini
COPY --from=dependencies /memory-service/node_modules ./node_modules
COPY --from=dependencies /memory-service/sbom.cdx.json ./
COPY --from=build /app/package.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/dist ./dist
COPY --from=build /app/console/dist ./console/dist
RUN ln -s /app/bin/memory-service /usr/local/bin/memory-service
# The user `node` of the image, as numbers so that Kubernetes can check runAsNonRoot. It owns no files of /app.
USER 1000:1000
EXPOSE 8080
# /healthz, not /readyz: an orchestrator must not kill the service because its database is unreachable. The service
# listens only after it has reached and migrated the database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["env", "-u", "NODE_OPTIONS", "node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# tini forwards signals. As process 1, node would ignore a SIGTERM before it has a handler: while it waits for its
# database, or migrates.
ENTRYPOINT ["tini", "--", "memory-service"]
CMD ["serve"]
