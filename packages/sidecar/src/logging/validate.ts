// SPDX-License-Identifier: Apache-2.0
/** The checks of component-base on logging flags. A violation is `LoggingConfiguration is invalid`, exit code 1. */
import type { LoggingValues } from '../programs/shared-flags.ts';

/** The violations of the logging flags, in the words of the flags; empty if they are valid. */
export function invalidLogging(values: LoggingValues): readonly string[] {
  const format = values['logging-format'];
  const alpha = [
    values['log-text-split-stream'] ? 'log-text-split-stream' : undefined,
    values['log-json-split-stream'] ? 'log-json-split-stream' : undefined,
    values['log-text-info-buffer-size'] === '0' ? undefined : 'log-text-info-buffer-size',
    values['log-json-info-buffer-size'] === '0' ? undefined : 'log-json-info-buffer-size',
  ].filter((name) => name !== undefined);
  return [
    ...(format === 'text' || format === 'json'
      ? []
      : [`format: Invalid value: ${JSON.stringify(format)}: Unsupported log format`]),
    ...(format === 'json' && values.vmodule.length > 0
      ? ['vmodule: Forbidden: Only supported for text log format']
      : []),
    ...(values['log-flush-frequency'] > 0 ? [] : ['flushFrequency: Invalid value: Must be greater than zero']),
    ...alpha.map((name) => `${name}: Forbidden: Feature LoggingAlphaOptions is disabled`),
  ];
}
