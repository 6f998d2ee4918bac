// SPDX-License-Identifier: Apache-2.0
/**
 * Which tokens were accepted when they were last reviewed, as hashes. Each of them is reviewed again for each request: what is known here says only
 * in which line the request waits. So a caller that has been admitted once waits in a line of its own, whoever shares its address.
 */
import { hash } from 'node:crypto';
import type { Line } from './lines.ts';

export interface Sender {
  readonly token: string;
  /** The IP address. */
  readonly address: string;
  /** The address and the port. */
  readonly connection: string;
}

export interface KnownTokens {
  of(sender: Sender): KnownSender;
}

export interface KnownSender {
  line(): Line;
  reviewed(answer: 'accepted' | 'refused'): void;
}

const mostKnown = 1024;

export function createKnownTokens(): KnownTokens {
  /** In the order in which they were accepted. */
  const known = new Set<string>();
  return {
    of({ token, address, connection }) {
      const hashed = hash('sha256', token);
      return {
        line: () => (known.has(hashed) ? { group: hashed, name: hashed } : { group: address, name: connection }),
        reviewed(answer) {
          known.delete(hashed);
          if (answer === 'accepted') known.add(hashed);
          const [oldest] = known;
          if (oldest !== undefined && known.size > mostKnown) known.delete(oldest);
        },
      };
    },
  };
}
