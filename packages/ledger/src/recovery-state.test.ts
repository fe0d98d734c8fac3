import t from 'tap';
import { judgeEntry, type ReplicaAnswer } from './recovery-state.js';

t.test('recovery state: verdict about an entry (E3 Qw3 Qa2)', async (t) => {
  const cases: [ReplicaAnswer[], string][] = [
    [['PENDING', 'PENDING', 'PENDING'], 'undecided'],
    [['NO_ENTRY', 'PENDING', 'OK'], 'found'],
    [['NO_ENTRY', 'PENDING', 'PENDING'], 'undecided'],
    [['NO_ENTRY', 'NO_LEDGER', 'PENDING'], 'absent'],
    [['NO_ENTRY', 'UNAVAILABLE', 'IO_ERROR'], 'unknown'],
    [['NO_ENTRY', 'UNAVAILABLE', 'PENDING'], 'undecided'],
    [['DAMAGED', 'UNKNOWN_LEDGER_STATE', 'NO_ENTRY'], 'unknown'],
  ];
  for (const [answers, verdict] of cases) {
    t.equal(judgeEntry({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 }, answers), verdict, answers.join(' '));
  }
});
