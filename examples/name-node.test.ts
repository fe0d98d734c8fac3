import t from 'tap';
import { nameNodeStory } from './name-node.js';
import { openSampleCluster } from './sample-cluster.js';

t.test('name nodes: the standby takes over from one that hangs → no edit is lost, the old one is fenced, a new one reads it all', async (t) => {
  await using cluster = await openSampleCluster(undefined);
  const lines: string[] = [];
  await nameNodeStory(cluster.connect, (line) => lines.push(line));
  t.equal(lines[0], 'nn1 is active: 11 names after 13 edits');
  t.match(lines[1], /^nn2 follows: 1[12] names after 1[23] edits/);
  t.equal(lines[2], 'nn2 took over: 11 names after 13 edits');
  t.equal(lines[3], 'nn1 wakes up and writes: JOURNAL_ERRORED_STREAM');
  t.match(lines[4], /^nn3, new, reads it all: \d+ names, the same$/);
  t.match(lines[5], /^segments before edit 11 purged, \d+ finalized edits stay$/);
});
