# Builds the service, then keeps only what it needs to run.
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:22-slim
ENV NODE_ENV=production \
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
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Addresses that other machines reach are served with keys only: give SESSION_POOL_KEYS_FILE or SESSION_POOL_JWKS.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
