const [command, ...rest] = process.argv.slice(2);
if (command === 'health') {
  // Loads nothing of the service, as it is called all the time.
  const { checkHealth } = await import('./cli/health.ts');
  process.exitCode = await checkHealth(rest);
} else {
  const { run } = await import('./cli/run.ts');
  process.exitCode = await run(process.argv.slice(2));
}
