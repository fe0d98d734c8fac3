// Makes sure that the tests find a ZooKeeper server: Debian's package `zookeeper` and a Java runtime.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { run } from './steps.mjs';

const hasZooKeeper = () => existsSync('/usr/share/java/zookeeper.jar') && spawnSync('java', ['-version'], { stdio: 'ignore' }).status === 0;

/** Installs what is missing; false (with the reason printed) when that is impossible. */
export async function ensureZooKeeper() {
  if (hasZooKeeper()) return true;
  const isRoot = process.getuid?.() === 0;
  const prefix = isRoot ? [] : ['sudo', '-n'];
  if (!existsSync('/usr/bin/apt-get')) return refuse('there is no apt-get on this machine');
  console.log("Installing ZooKeeper for the cluster tests from Debian's packages ...");
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['apt-get', 'update', '-qq'],
    ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'zookeeper', 'default-jre-headless'],
  ]) {
    const [command, ...rest] = [...prefix, ...args];
    const code = await run(command, rest, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] }).catch(() => 1);
    if (code !== 0) return refuse(`\`${[command, ...rest].join(' ')}\` failed`);
  }
  return hasZooKeeper() || refuse('the packages are installed, but /usr/share/java/zookeeper.jar or java is missing');
}

function refuse(why) {
  console.error(`The tests need a ZooKeeper server and it cannot be installed here: ${why}.`);
  console.error(
    'Install it by hand (Debian: apt-get install zookeeper default-jre-headless), or run `npm test -- --without-zookeeper` to leave those tests out.',
  );
  return false;
}
