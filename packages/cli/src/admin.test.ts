import { createServer } from 'node:http';
import t from 'tap';
import { runDaybook } from './testing/run-daybook.js';

/** Words after `daybook admin` → the REST call they become. */
const calls: readonly (readonly [words: string, request: string, body?: unknown])[] = [
  ['clusters list', 'GET /admin/v2/clusters'],
  ['clusters get c', 'GET /admin/v2/clusters/c'],
  ['tenants list', 'GET /admin/v2/tenants'],
  ['tenants create acme a,b', 'PUT /admin/v2/tenants/acme', { adminRoles: [], allowedClusters: ['a', 'b'] }],
  ['tenants delete a%b', 'DELETE /admin/v2/tenants/a%25b'],
  ['namespaces list acme', 'GET /admin/v2/namespaces/acme'],
  ['namespaces create acme/shop', 'PUT /admin/v2/namespaces/acme/shop'],
  ['namespaces delete acme/shop', 'DELETE /admin/v2/namespaces/acme/shop'],
  ['topics list acme/shop', 'GET /admin/v2/persistent/acme/shop'],
  ['topics create orders', 'PUT /admin/v2/persistent/public/default/orders'],
  ['topics delete acme/shop/a#b --force', 'DELETE /admin/v2/persistent/acme/shop/a%23b?force=true'],
  ['topics stats persistent://acme/shop/orders', 'GET /admin/v2/persistent/acme/shop/orders/stats'],
  ['topics internal-stats orders', 'GET /admin/v2/persistent/public/default/orders/internalStats'],
  ['topics lookup orders', 'GET /lookup/v2/topic/persistent/public/default/orders'],
  ['topics unload orders', 'PUT /admin/v2/persistent/public/default/orders/unload'],
  ['subscriptions list orders', 'GET /admin/v2/persistent/public/default/orders/subscriptions'],
  ['subscriptions create orders a/b', 'PUT /admin/v2/persistent/public/default/orders/subscription/a%2Fb', 'latest'],
  ['subscriptions create orders s earliest', 'PUT /admin/v2/persistent/public/default/orders/subscription/s', 'earliest'],
  ['subscriptions delete orders s', 'DELETE /admin/v2/persistent/public/default/orders/subscription/s'],
  ['brokers list', 'GET /admin/v2/brokers'],
  ['brokers health', 'GET /admin/v2/brokers/health'],
  ['bookies list', 'GET /admin/v2/bookies/all'],
];

t.test('daybook admin: each command is its REST call', async (t) => {
  const seen: { request: string; body: unknown; token: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += String(part);
    seen.push({
      request: `${request.method} ${request.url}`,
      body: text === '' ? undefined : JSON.parse(text),
      token: request.headers.authorization,
    });
    if (request.url?.includes('refused')) response.writeHead(404, { 'content-type': 'application/json' }).end('{"reason":"no such cluster here"}');
    else response.end('["an answer"]');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  for (const [words, request, body] of calls) {
    const { code, output, errors } = await runDaybook(['admin', ...words.split(' '), '--url', url, '--token', 'secret']);
    t.equal(code, 0, `${words}: ${errors}`);
    t.same(JSON.parse(output), ['an answer']);
    t.same(seen.pop(), { request, body, token: 'Bearer secret' }, words);
  }
  const { code, output, errors } = await runDaybook(['admin', 'clusters', 'get', 'refused', '--url', url]);
  t.equal(code, 1);
  t.equal(output, '');
  t.match(errors, /^daybook: .*no such cluster here/);
});
