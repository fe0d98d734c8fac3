import t from 'tap';
import { DaybookError, definedErrors, defineErrors, errorCode } from './errors.js';
import { BrokenInvariant, invariant, unreachable } from './invariant.js';

const errors = defineErrors('TEST_ERRORS', {
  PLAIN: { retry: 'never', text: () => 'plain' },
  COUNTED: { retry: 'later', text: (need: number, up: number) => `need ${need}, ${up} are up` },
});

t.test('defineErrors: an error made → code, retry class, text and cause', async (t) => {
  const cause = new Error('why');
  const error = errors.COUNTED(3, 2, { cause });
  t.match(error, { code: 'TEST_ERRORS_COUNTED', retry: 'later', message: 'need 3, 2 are up', name: 'DaybookError' });
  t.equal(error.cause, cause);
  t.notOk('cause' in errors.PLAIN());
  t.equal(errors.PLAIN({ cause }).cause, cause);
  t.equal(errors.COUNTED.code, 'TEST_ERRORS_COUNTED');
});

t.test('defineErrors: is and errorCode → tell errors apart', async (t) => {
  t.equal(errors.PLAIN.is(errors.PLAIN()), true);
  t.equal(errors.PLAIN.is(errors.COUNTED(1, 1)), false);
  t.equal(errors.PLAIN.is(new Error('plain')), false);
  t.equal(errorCode(errors.PLAIN()), 'TEST_ERRORS_PLAIN');
  t.equal(errorCode(new Error('x')), undefined);
  t.ok(errors.PLAIN() instanceof DaybookError);
  t.ok(definedErrors().some(({ area }) => area === 'TEST_ERRORS'));
});

t.test('invariant and unreachable: broken → BrokenInvariant', async (t) => {
  invariant(true, 'fine');
  t.throws(() => invariant(false, 'text'), new BrokenInvariant('text'));
  t.throws(() => unreachable('odd' as never), { name: 'BrokenInvariant', message: /"odd"/ });
});
