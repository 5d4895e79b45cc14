/* A run-time for AppImages as small as one can be: it unpacks what is appended to it, instead of mounting it, into the folder
   that RUNTIME_FOLDER names, and becomes AppRun there. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
	(void)argc;
	Elf64_Ehdr head;
	FILE *self = fopen("/proc/self/exe", "rb");
	if (!self || fread(&head, sizeof head, 1, self) != 1) return 120;
	char offset[32], path[4096], program[4096];
	snprintf(offset, sizeof offset, "%lu", (unsigned long)(head.e_shoff + (unsigned long)head.e_shentsize * head.e_shnum));
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	const char *folder = getenv("RUNTIME_FOLDER");
	if (length < 0 || !folder) return 121;
	path[length] = 0;
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stdout)) _exit(122);
		execlp("unsquashfs", "unsquashfs", "-q", "-n", "-o", offset, "-d", folder, path, (char *)0);
		_exit(123);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 124;
	snprintf(program, sizeof program, "%s/AppRun", folder);
	argv[0] = program;
	execv(program, argv);
	return 125;
}
