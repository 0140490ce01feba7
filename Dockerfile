# Builds the service, then keeps only what it needs to run. Pin the base image by its digest:
#   docker build --build-arg NODE_IMAGE=node:24-slim@sha256:... .
ARG NODE_IMAGE=node:24-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The script `prepare` needs the sources, which come with the next step.
RUN npm ci --ignore-scripts
COPY . .
# Without the clients and the packages that are bundled, npm keeps only the drivers of the stores.
RUN npm run build && npm pkg delete workspaces devDependencies peerDependencies peerDependenciesMeta \
  && npm prune
# Tracing needs packages that few images need: --build-arg WITH="@opentelemetry/sdk-node@^0.223.0"
ARG WITH=""
RUN if [ -n "$WITH" ]; then npm install --no-save --ignore-scripts $WITH; fi

FROM ${NODE_IMAGE}
# With these settings glibc returns freed memory to the system at once.
ENV MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    NODE_ENV=production \
    SESSION_POOL_STORAGE=sqlite:/data/session-pool.db \
    SESSION_POOL_GRPC_ADDRESS=0.0.0.0:50051 \
    SESSION_POOL_HTTP_ADDRESS=0.0.0.0:8080
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 50051 8080
HEALTHCHECK --interval=10s --timeout=5s CMD ["node", "dist/main.js", "health"]
# Addresses that other machines reach are served with keys only: give SESSION_POOL_KEYS_FILE or SESSION_POOL_JWKS.
# The user node (1000) must be able to read the files that are named.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
