FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are Nodes for hosts whose own is older, and the native BLS library: the image has a Node, and the
# library signs for the validators of the embedded network, where it is only a matter of speed.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY config ./config
COPY src ./src
# A configuration of one's own is mounted here: docker run -v "$PWD/my:/config" IMAGE --config /config/my.json
VOLUME /config
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process and has the signals delivered to it; src/cli/serve.ts handles them.
ENTRYPOINT ["node", "src/start.js"]
