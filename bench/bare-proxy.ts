import replyFrom from '@fastify/reply-from';
import fastify from 'fastify';

/** What the service's proxying is measured against: @fastify/reply-from and nothing else, before the upstream of its argument. */
const server = fastify();
await server.register(replyFrom, { base: String(process.argv[2]) });
server.get('/*', (_request, reply) => reply.from());
console.log(JSON.stringify({ url: await server.listen({ host: '127.0.0.1', port: 0 }) }));
process.stdin.on('end', () => process.exit(0)).resume();
