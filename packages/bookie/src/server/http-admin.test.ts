import { Metrics, silentLogger } from '@daybook/runtime';
import t from 'tap';
import { startBookieHttp } from './http-admin.js';

t.test('bookie http: health, readiness, metrics; anything else is refused', async (t) => {
  const metrics = new Metrics();
  metrics.counter({ name: 'daybook_test_total', help: 'A test' }).with({}).add(3);
  let isReady = false;
  let isHealthy = true;
  const options = { host: '127.0.0.1', port: 0, metrics, isReady: () => isReady, isHealthy: () => isHealthy, logger: silentLogger };
  const http = await startBookieHttp(options);
  t.teardown(() => http.close());
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${http.port}${path}`, { method });
    return { status: response.status, text: await response.text() };
  };
  t.strictSame(await get('/healthz'), { status: 200, text: 'ok\n' });
  t.equal((await get('/readyz')).status, 503);
  isReady = true;
  t.equal((await get('/readyz?verbose')).status, 200);
  isHealthy = false;
  t.equal((await get('/healthz')).status, 503);
  t.match(await get('/metrics'), { status: 200, text: /daybook_test_total 3/ });
  t.strictSame(await get('/heartbeat'), { status: 200, text: 'OK\n' });
  t.equal((await get('/else')).status, 404);
  t.equal((await get('/metrics', 'POST')).status, 405);
  t.strictSame(await get('/metrics', 'HEAD'), { status: 200, text: '' });
  await t.rejects(startBookieHttp({ ...options, port: http.port }), { code: 'BOOKIE_HTTP_LISTEN' });
});
