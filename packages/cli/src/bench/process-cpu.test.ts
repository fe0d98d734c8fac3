import t from 'tap';
import { CpuMeter, cpuSecondsOf } from './process-cpu.js';

t.test('process CPU: this process -> about what Node says', { skip: process.platform !== 'linux' }, async (t) => {
  const { user, system } = process.cpuUsage();
  const seconds = cpuSecondsOf([process.pid]) as number;
  t.ok(Math.abs(seconds - (user + system) / 1e6) < 0.1, `${seconds} s against ${(user + system) / 1e6} s`);
});

t.test('process CPU: a process that is gone, or none -> unknown', async (t) => {
  t.equal(cpuSecondsOf([2 ** 30]), undefined);
  t.equal(new CpuMeter([]).perOperation(1).serverCpuUs, undefined);
  t.equal(new CpuMeter([2 ** 30]).perOperation(1).serverCpuUs, undefined);
});

t.test('process CPU: no operations -> no division by zero', async (t) => {
  t.ok(Number.isFinite(new CpuMeter([]).perOperation(0).clientCpuUs));
});
