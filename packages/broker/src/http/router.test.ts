import t from 'tap';
import { noContent } from './answer.js';
import { Router } from './router.js';

const router = new Router()
  .add('GET', '/t', () => noContent)
  .add('GET', '/t/:tenant', () => noContent)
  .add('PUT', '/t/:tenant', () => noContent)
  .add('GET', '/t/special', () => noContent)
  .add('GET', '/t/:tenant/x', () => noContent)
  .add('*', '/t/:tenant/*', () => noContent);

t.test('router: fixed parts first, but only with the right method', async (t) => {
  const find = (method: string, ...segments: string[]) => {
    const found = router.find(method, segments);
    return found.kind === 'handler' ? Object.fromEntries(found.parameters) : found;
  };
  t.strictSame(find('GET', 't', 'special'), {});
  t.strictSame(find('PUT', 't', 'special'), { tenant: 'special' });
  t.strictSame(find('HEAD', 't', 'a/b'), { tenant: 'a/b' });
  t.strictSame(find('GET', 't', 'a', 'x'), { tenant: 'a' });
  t.strictSame(find('DELETE', 't', 'a', 'x', 'y'), { tenant: 'a' });
  t.strictSame(find('DELETE', 't', 'a'), { kind: 'wrong-method', allowed: ['GET', 'PUT'] });
  t.strictSame(find('GET', 'u'), { kind: 'nothing' });
  t.strictSame(find('GET'), { kind: 'nothing' });
});
