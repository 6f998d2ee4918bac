// SPDX-License-Identifier: Apache-2.0
/** `secret`: what stands in a Secret is seen in no log line and in no other object of the API, events included. */
import { type Logger, stringifyJson } from '@csi-sidecars/runtime';
import { secretText } from '../names.ts';
import type { World } from '../world.ts';

const encoded = Buffer.from(secretText).toString('base64');

export function hasSecret(text: string): boolean {
  return text.includes(secretText) || text.includes(encoded);
}

/** A logger at the highest verbosity that only looks for secrets. */
export function watchfulLogger(breach: (text: string) => void): Logger {
  const look = (message: string, facts: unknown, error?: unknown): void => {
    const text = `${message} ${JSON.stringify(facts) ?? ''} ${error instanceof Error ? error.message : ''}`;
    if (hasSecret(text)) breach(`secret: a log line has one: ${message}`);
  };
  const logger: Logger = {
    enabled: () => true,
    info: (_level, message, facts) => look(message, facts),
    warn: (message, facts) => look(message, facts),
    error: (error, message, facts) => look(message, facts, error),
    with: () => logger,
  };
  return logger;
}

export function secretsInObjects({ sim }: World): readonly string[] {
  const { objects, types } = sim.server;
  return types()
    .filter(({ kind }) => kind !== 'Secret')
    .flatMap((type) => objects.list(type))
    .filter((object) => hasSecret(stringifyJson(object)))
    .map(({ kind, metadata }) => `secret: ${kind} ${metadata?.name} has one`);
}
