// SPDX-License-Identifier: Apache-2.0
/** The network and the volume of the pod that runs the test. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { PodIo } from './checks.ts';

/** Metrics of a large cluster; a stranger's answer may have any length. */
const longestAnswer = 64 * 1024 ** 2;

export function systemPodIo(content: string, answerWithinMs = 10_000): PodIo {
  return {
    get: (url) =>
      new Promise((resolve, reject) => {
        const request = get(url, { agent: false, timeout: answerWithinMs }, (response) => {
          bodyOf(response).then((text) => resolve({ status: response.statusCode, text }), reject);
        }).on('error', reject);
        request.on('timeout', () => request.destroy(new Error('no answer in time')));
      }),
    writeAndRead: async (folder) => {
      const path = join(folder, 'csi-sidecars-chart-test');
      // A test that was killed leaves it behind.
      await rm(path, { force: true });
      await writeFile(path, content, { flag: 'wx', flush: true });
      try {
        return (await readFile(path, 'utf8')) === content;
      } finally {
        await rm(path);
      }
    },
  };
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    if (text.length > longestAnswer) throw new Error('the answer is too long');
  }
  return text;
}
