// SPDX-License-Identifier: Apache-2.0
/**
 * Our codec against Go's protobuf: both must refuse the same messages, and what ours has read, written again, must have for Go the
 * same value as the bytes that came.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { mutatedMessages } from '@csi-sidecars/csi/testing/mutated-messages';
import type { Case, CaseDeps } from './grpc-go.ts';

const count = 20_000;

export function goProtobufCase({ peer, folder, signal }: CaseDeps): Case {
  return {
    name: `${count} messages with changed bytes: our codec agrees with Go's protobuf`,
    run: async () => {
      const { descriptors, messages } = mutatedMessages({ seed: 501, count });
      const path = join(folder, 'descriptors.pb');
      writeFileSync(path, descriptors);
      const child = spawn(peer, ['decode', path], { stdio: ['pipe', 'pipe', 'inherit'], signal });
      const lines = messages.flatMap(({ type, bytes, encoded }) =>
        [bytes, encoded ?? Buffer.alloc(0)].map((each) => `${type} ${Buffer.from(each).toString('base64')}\n`),
      );
      // A judge that ends early leaves too few verdicts.
      child.stdin.on('error', () => undefined);
      child.stdin.end(lines.join(''));
      const verdicts = (await text(child.stdout)).split('\n');
      const wrong = messages.filter(({ decoded }, index) => {
        const [came, written] = [verdicts[index * 2], verdicts[index * 2 + 1]];
        return decoded === undefined ? came !== 'refused' : came === 'refused' || came !== written;
      });
      if (verdicts.length !== messages.length * 2 + 1) throw new Error(`${verdicts.length} verdicts`);
      const refused = messages.filter(({ decoded }) => decoded === undefined).length;
      if (refused < count / 20 || refused > count * 0.9) throw new Error(`${refused} refused messages show little`);
      if (wrong.length > 0) {
        const [first] = wrong;
        const hex = Buffer.from(first?.bytes ?? []).toString('hex');
        throw new Error(
          `${wrong.length} differ, the first is ${first?.type} ${hex}: ours ${JSON.stringify(first?.decoded)}`,
        );
      }
    },
  };
}
