// SPDX-License-Identifier: Apache-2.0
/** Each row, with the smallest cluster that leads to it. */
import { expect, it } from 'vitest';
import { clusterOf, explain, namespace } from '../../testing/cluster.ts';
import { examples } from '../../testing/examples.ts';

it.each(examples)(
  'given $given, when explained, then it is row $row, exit code $code, and the turn of: $actor',
  async ({ row, code, actor, subject = 'pvc/data', arrange }) => {
    const host = clusterOf([]);
    arrange(host);
    const { code: exit, document } = await explain(host, [subject, '-n', namespace]);
    expect({
      row: document.row,
      code: exit,
      actor: document.turn?.actor ?? 'nobody',
      sentence: document.sentence,
    }).toEqual({ row, code, actor, sentence: document.sentence });
  },
);
